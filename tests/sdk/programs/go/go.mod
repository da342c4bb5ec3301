module example.com/localyun/fc

go 1.21
